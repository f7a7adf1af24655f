"""Does predicting observations before acting help a small agent?"""
