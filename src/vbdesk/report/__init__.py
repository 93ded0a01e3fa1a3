"""What leaves the desk: tidy CSV, FHIR, PDF and folders for research, all made from one `SubjectRecord`."""
