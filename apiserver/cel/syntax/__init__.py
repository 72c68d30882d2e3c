"""From text to a tree: lexer, parser, macros, and ANTLR's errors in cel-go's words."""
