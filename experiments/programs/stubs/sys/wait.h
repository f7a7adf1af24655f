#include "unix_stubs.h"
