"""Tools of the repository: reading evidence, fitting the tables that ship, generating documents."""
