"""States of models that can be asked, whatever was done to them; comparisons and audits."""
