"""Linear, integer and constraint programs and flows behind one vocabulary of outcomes."""
