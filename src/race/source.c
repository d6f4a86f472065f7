/* source.c - see source.h. */
#include "race/source.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The tool's output in text. The process has no variables that preload something. */
static int run(char *const argv[], char *text, size_t bytes)
{
    int pipe_of[2], status = -1;
    char path[] = "PATH=/usr/local/bin:/usr/bin:/bin";
    char *env[] = {path, NULL};
    if (pipe(pipe_of) != 0)
        return -1;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_of[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", 1, 0);
    posix_spawn_file_actions_addclose(&actions, pipe_of[0]);
    posix_spawn_file_actions_addclose(&actions, pipe_of[1]);
    pid_t pid;
    int error = posix_spawnp(&pid, argv[0], &actions, NULL, argv, env);
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_of[1]);
    size_t have = 0;
    ssize_t n;
    while (!error && have < bytes - 1 && (n = read(pipe_of[0], text + have, bytes - 1 - have)) > 0)
        have += (size_t)n;
    text[have] = 0;
    close(pipe_of[0]);
    if (!error)
        waitpid(pid, &status, 0);
    return error ? -1 : status;
}

void race_source_of(const char *module, uint64_t offset, char *function, char *source, size_t bytes)
{
    char text[2048], address[32], file[512];
    snprintf(address, sizeof address, "%#lx", (unsigned long)(offset ? offset - 1 : 0));
    snprintf(file, sizeof file, "%s", module);
    char tool[] = "addr2line", names[] = "-fCse", exe[sizeof file];
    memcpy(exe, file, sizeof exe);
    char *argv[] = {tool, names, exe, address, NULL};
    snprintf(function, bytes, "an unknown function");
    const char *base = strrchr(module, '/');
    snprintf(source, bytes, "%s+%#lx", base ? base + 1 : module, (unsigned long)offset);
    if (!*module || run(argv, text, sizeof text) != 0)
        return;
    char *line = strchr(text, '\n');
    if (!line)
        return;
    *line++ = 0;
    line[strcspn(line, "\n ")] = 0;
    if (strcmp(text, "??") != 0)
        snprintf(function, bytes, "%s", text);
    if (strncmp(line, "??", 2) != 0)
        snprintf(source, bytes, "%s", line);
}
