/*
 * The program `bulkhash`: the library's jobs from the shell. Its first argument is a command; each
 * command is a file of its own here (count.c, devices.c, bench.c) and uses nothing of the library
 * but its public header. Start with count.c: it is the whole way from a file to a result.
 *
 * Exit status: 0 done, 1 failed, 2 wrong command line (error.h).
 */
#define _POSIX_C_SOURCE 200809L

#include "bulkhash/bulkhash.h"
#include "commands.h"
#include "error.h"
#include "suggest.h"
#include "threads.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const char help[] =
    "bulkhash: hash tables for arrays, with millions of keys in one go\n"
    "\n"
    "usage: bulkhash COMMAND ARGUMENTS\n"
    "\n"
    "commands:\n"
    "  count      count k-mers of FASTA or FASTQ files, or integers of an array or of text\n"
    "                 bulkhash count --kmers 31 --canonical genome.fna.gz --output counts.tsv\n"
    "                 bulkhash count ids.npy --output counts.tsv\n"
    "                 bulkhash count --text ids.txt --output counts.tsv\n"
    "  devices    tell what this machine can count with\n"
    "                 bulkhash devices\n"
    "  bench      measure the library (runs the program bulkhash-bench)\n"
    "                 bulkhash bench --quick\n"
    "\n"
    "bulkhash COMMAND --help tells the rest.\n"
    "\n"
    "options:\n"
    "  -h, --help     print this\n"
    "  -V, --version  print the version\n"
    "\n"
    "The environment variable BULKHASH_TARGET (scalar, avx2 or avx512) chooses the instruction\n"
    "set; without it the best one of this machine is taken. Exit status: 0 done, 1 failed, 2\n"
    "wrong command line; every error is one sentence on standard error.\n";

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {{"count", count_command}, {"devices", devices_command}, {"bench", bench_command}};

bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* The word is neither a command nor an option. */
static _Noreturn void fail_command(const char *word)
{
    struct suggestion suggestion;

    suggestion_init(&suggestion, word);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        suggestion_consider(&suggestion, commands[i].name);
    suggestion_consider(&suggestion, "--help");
    suggestion_consider(&suggestion, "--version");
    suggestion_fail(&suggestion, *word == '-' ? "option" : "command", "", "bulkhash --help");
}

/* Occupies standard descriptors that are closed. Otherwise the first file that is opened would get
 * such a number, and what is meant for standard output would go there. Opened the wrong way round,
 * each fails when it is used, as it would have when closed. */
static void occupy_standard_descriptors(void)
{
    for (int number = STDIN_FILENO; number <= STDERR_FILENO; number++) {
        if (fcntl(number, F_GETFD) < 0)
            (void)!open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
}

static int run(int argc, char **argv)
{
    occupy_standard_descriptors();
    if (argc < 2)
        fail_usage("no command given; see bulkhash --help");

    const char *word = argv[1];
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(word, commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    }

    bool wants_version = strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0;
    if (!is_help(word) && !wants_version)
        fail_command(word);
    if (wants_version)
        printf("bulkhash %s\n", bh_version());
    else
        fputs(help, stdout);
    finish_standard_output();
    return EXIT_SUCCESS;
}

/* The command line, and in the end the exit status. */
struct invocation {
    int argc;
    char **argv;
    int status;
};

static void run_invocation(void *argument)
{
    struct invocation *invocation = argument;
    invocation->status = run(invocation->argc, invocation->argv);
}

/* Where the stack is limited (`ulimit -s`) to less than the work needs, another thread does it. */
int main(int argc, char **argv)
{
    struct invocation invocation = {.argc = argc, .argv = argv};
    struct rlimit stack;

    if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= threads_stack_bytes)
        return run(argc, argv);
    if (!threads_run_elsewhere(run_invocation, &invocation))
        fail(
            "the stack is limited to %llu KiB, and the system gives no thread that has more; raise "
            "the limit (ulimit -s)",
            (unsigned long long)stack.rlim_cur >> 10);
    return invocation.status;
}
