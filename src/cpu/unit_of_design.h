/* One design in a unit: its kernels for a table's widths and layout, NULL when it has none. */
const bh__kernels *BH_OF_DESIGN(BH_UNIT_NAME(unit))(const bh_table_options *options);
