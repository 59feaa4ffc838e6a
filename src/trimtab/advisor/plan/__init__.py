"""What a plan is made of: profiles, items, diffs, fields, the way back."""
