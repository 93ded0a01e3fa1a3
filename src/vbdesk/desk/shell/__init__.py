"""The application around the pages: composition root, main window, sidebar, local service process."""
