"""The command line: thin. Every command reads its input, calls the library, and prints for people or for programs."""
