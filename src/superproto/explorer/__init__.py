"""CHECK: the local page on which a person reviews and corrects labels (the extra `pictures`)."""
