"""Steps without I/O: what runs them, contains their failures and limits their time."""
