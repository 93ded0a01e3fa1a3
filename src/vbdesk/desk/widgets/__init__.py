"""Controls and displays shared by the pages. They hold no rule and do no input or output."""
