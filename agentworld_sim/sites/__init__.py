"""Sites: web applications as data, answered on the records of a world."""
