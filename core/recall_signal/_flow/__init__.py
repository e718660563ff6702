"""The way of a query: one generator without I/O, from a question to its outcome."""
