"""How right are a small model's imagined answers, and which part makes them better?"""
