"""What people see: results, tables, figures, widgets. Knows frames only."""
