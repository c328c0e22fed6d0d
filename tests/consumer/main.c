/* A program outside the tree: knows the installed header and nothing else. `consumer [DEVICE]` */
#include <bulkhash/bulkhash.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    bh_context *context;
    uint64_t key = 7, value = 49, found = 0;
    bh_table_options options;
    bh_table *table;
    bh_table_options_init(&options, 8, 8, 1);
    if (bh_context_create(argc > 1 ? argv[1] : "cpu", NULL, &context) ||
        bh_table_create(context, &options, &table) || bh_insert(table, &key, &value, 1, NULL) ||
        bh_find(table, &key, 1, &found, NULL)) {
        printf("%s\n", bh_error_detail());
        return 1;
    }
    bh_table_destroy(table);
    bh_context_destroy(context);
    printf("bulkhash %s: %d\n", bh_version(), (int)found);
    return 0;
}
