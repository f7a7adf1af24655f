/* WASI starts a program in the root: it goes to the folder of the shell that calls it. */
#include <stdlib.h>
#include <unistd.h>
__attribute__((constructor)) static void start_folder(void) { const char *folder = getenv("PWD"); if (folder) chdir(folder); }
