"""Documents for people: PDF reports by Typst templates."""
