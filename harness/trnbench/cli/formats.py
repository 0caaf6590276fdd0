"""How every command that lists things can print them."""

FORMATS = ("table", "json", "csv", "md")
