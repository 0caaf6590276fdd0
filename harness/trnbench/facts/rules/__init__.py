"""The checker's rules, a file per kind. Each is a function (book, assemblies) → disagreements."""
