"""/v1/growth/RUN: review, export and crawls of growth runs, beside what every kind has."""
