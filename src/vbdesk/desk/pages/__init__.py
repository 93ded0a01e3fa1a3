"""The pages of the window. A page binds widgets to its view model and holds no rule."""
