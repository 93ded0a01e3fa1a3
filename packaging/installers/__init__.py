"""Installers for Linux, Windows and macOS; `make.py` makes them."""
