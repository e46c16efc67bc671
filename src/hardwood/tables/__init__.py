"""Tables with text, dates and missing values, in CSV and Parquet files.

`TableModel` is an adaptive forest that takes such a table as it is. `TableEncoder` is the part of it
that turns a table into numbers and categories. `read_table` and `write_table` read and write files.
"""

from hardwood.tables.columns import Column
from hardwood.tables.encoder import TableEncoder
from hardwood.tables.errors import TableError, TableWarning
from hardwood.tables.files import read_table, write_table
from hardwood.tables.model import TableModel

__all__ = [
    "Column",
    "TableEncoder",
    "TableError",
    "TableModel",
    "TableWarning",
    "read_table",
    "write_table",
]
