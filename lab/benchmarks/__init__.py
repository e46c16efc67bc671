"""Comparisons with other libraries, one file each."""
