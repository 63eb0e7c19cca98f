"""What people see: results, tables, figures, widgets, pages. Knows frames only."""
