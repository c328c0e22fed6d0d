/* One design in the module: its kernels for the options of a table, NULL where there are none. */
const bh__gpu_kernels *BH_OF_DESIGN(gpu_kernels)(const bh_table_options *options);
