#include <bulkhash/bulkhash.h>
#include <stdio.h>

int main(void)
{
    uint32_t keys[] = {17, 4, 99}, values[] = {170, 40, 990}, found[3] = {0};
    bh_context *context = NULL;
    bh_table_options options;
    bh_table *table = NULL;

    bh_table_options_init(&options, 4, 4, 1000); /* 4-byte keys, 4-byte values, room for 1,000 */
    int failed = bh_context_create("cpu", NULL, &context) ||
                 bh_table_create(context, &options, &table) ||
                 bh_insert(table, keys, values, 3, NULL) || bh_find(table, keys, 3, found, NULL);
    if (failed)
        fprintf(stderr, "%s\n", bh_error_detail());
    for (int i = 0; i < 3 && !failed; i++)
        printf("%u -> %u\n", keys[i], found[i]);
    bh_table_destroy(table);
    bh_context_destroy(context);
    return failed;
}
