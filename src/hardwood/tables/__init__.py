"""Tables as people have them: text and missing values among the numbers, in files of CSV or Parquet.

`TableModel` is an adaptive forest that takes such a table as it is, `TableEncoder` the part of it that
makes numbers of a table, and `read_table` and `write_table` are for files.
"""

from hardwood.tables.columns import Column
from hardwood.tables.encoder import TableEncoder
from hardwood.tables.errors import TableError
from hardwood.tables.files import read_table, write_table
from hardwood.tables.model import TableModel

__all__ = ["Column", "TableEncoder", "TableError", "TableModel", "read_table", "write_table"]
