/* WASI has no setjmp: what would jump ends the program instead. */
#pragma once
#include <stdlib.h>
typedef int jmp_buf[1];
typedef int sigjmp_buf[1];
#define setjmp(b) 0
#define sigsetjmp(b, s) 0
#define longjmp(b, v) abort()
#define siglongjmp(b, v) abort()
