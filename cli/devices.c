/*
 * `bulkhash devices`: one line for each kind of device, with what it would run with, or why it
 * cannot be used here. A machine without a GPU is nothing wrong; one whose CPU cannot be used is.
 */
#include "commands.h"

#include "bulkhash/bulkhash.h"
#include "error.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "bulkhash devices: tell what this machine can count with\n"
    "\n"
    "usage: bulkhash devices\n"
    "\n"
    "One line for each kind of device: the instruction set and the threads that are used, or why\n"
    "the device is not available. Exit status 1 if the CPU is not.\n"
    "\n"
    "  -h, --help  print this\n";

static const char *pages_text(bh_pages pages)
{
    switch (pages) {
    case BH_PAGES_AUTO: return "huge pages where the system gives them";
    case BH_PAGES_SMALL: return "pages of the base size";
    case BH_PAGES_LAZY: return "pages of the base size, touched when first used";
    }
    return "unknown pages";
}

static bool print_device(const char *device)
{
    bh_context *context;
    bh_context_info info;

    if (bh_context_create(device, NULL, &context) != BH_OK) {
        printf("%-6s not available: %s\n", device, library_error());
        return false;
    }
    info.struct_size = sizeof info;
    if (bh_context_get_info(context, &info) != BH_OK)
        fail("%s: the device cannot be asked what it is: %s; please report this", device,
             library_error());
    if (strcmp(info.device, "cpu") == 0)
        printf("%-6s target %s, %" PRIu32 " thread%s, %s\n", device, info.target, info.threads,
               info.threads == 1 ? "" : "s", pages_text(info.pages));
    else
        printf("%-6s target %s\n", device, info.target);
    bh_context_destroy(context);
    return true;
}

int devices_command(int argc, char **argv)
{
    if (argc > 1 && is_help(argv[1])) {
        fputs(help, stdout);
        finish_standard_output();
        return EXIT_SUCCESS;
    }
    if (argc > 1)
        fail_usage("%s: devices takes no arguments but --help; leave it out", argv[1]);
    bool has_cpu = print_device("cpu");
    print_device("cuda");
    finish_standard_output();
    return has_cpu ? EXIT_SUCCESS : EXIT_FAILED;
}
