"""What a page reads and changes: the only place of the desk that knows that time passes."""
