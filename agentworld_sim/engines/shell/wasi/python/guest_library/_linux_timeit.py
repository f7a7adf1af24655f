"""`timeit`: the machine's clock stands still while a program only computes."""

import time

STEP_S = 2e-7
"""What one loop is taken to last."""


def enter(timeit):
    measure = timeit.Timer.timeit

    def do_timeit(self, number=timeit.default_number):
        lasting = measure(self, number)
        time.sleep(number * STEP_S)
        return lasting + number * STEP_S

    timeit.Timer.timeit = do_timeit
