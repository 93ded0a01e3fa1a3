"""What several pages read and say of subjects and their consent."""
