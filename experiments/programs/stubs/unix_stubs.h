/* What WASI has no word for: processes, users, masks of modes. Each fails as a machine without it would. */
#pragma once
#include <errno.h>
#include <sys/types.h>
#include <sys/stat.h>
#ifndef __cplusplus
static inline int fork(void) { errno = ENOSYS; return -1; }
static inline int pipe(int ends[2]) { errno = ENOSYS; return -1; }
static inline int dup(int fd) { errno = ENOSYS; return -1; }
static inline int dup2(int from, int to) { errno = ENOSYS; return -1; }
static inline int execl(const char *path, const char *arg, ...) { errno = ENOSYS; return -1; }
static inline int wait(int *status) { errno = ECHILD; return -1; }
static inline int waitpid(int pid, int *status, int options) { errno = ECHILD; return -1; }
static inline int kill(int pid, int signal) { errno = ENOSYS; return -1; }
static inline mode_t umask(mode_t mask) { return 022; }
static inline uid_t getuid(void) { return 0; }
static inline uid_t geteuid(void) { return 0; }
static inline gid_t getgid(void) { return 0; }
static inline gid_t getegid(void) { return 0; }
#define WIFEXITED(s) 1
#define WEXITSTATUS(s) (s)
#define WIFSIGNALED(s) 0
#define WTERMSIG(s) 0
#define WCOREDUMP(s) 0
#endif
