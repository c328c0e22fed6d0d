/*
 * The commands of the program `bulkhash`, one function each. main() in main.c looks at the first
 * word of the command line and hands the rest to one of them: argv[0] is the command's name, as a
 * main() of its own would see it. Each returns the program's exit status; what goes wrong ends in
 * fail() or fail_usage() of error.h instead.
 */
#ifndef BULKHASH_CLI_COMMANDS_H
#define BULKHASH_CLI_COMMANDS_H

#include <stdbool.h>

int count_command(int argc, char **argv);
int devices_command(int argc, char **argv);
int bench_command(int argc, char **argv);

/* Whether a word of the command line asks for help: --help or -h. */
bool is_help(const char *word);

#endif
