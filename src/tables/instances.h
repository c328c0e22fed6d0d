/*
 * The list of instances of the include-templates: every pair of widths, with keys and
 * values together and, where there are values, apart. Whoever wants all of them defines
 * BH_INSTANCE_FILE as the file to be included once for each (see instance.h), and
 * includes this. That file undefines the parameters at its end.
 */
#define BH_KEY_BYTES 4
#define BH_VALUE_BYTES 0
#define BH_APART 0
#include BH_INSTANCE_FILE

#define BH_KEY_BYTES 4
#define BH_VALUE_BYTES 4
#define BH_APART 0
#include BH_INSTANCE_FILE

#define BH_KEY_BYTES 4
#define BH_VALUE_BYTES 8
#define BH_APART 0
#include BH_INSTANCE_FILE

#define BH_KEY_BYTES 8
#define BH_VALUE_BYTES 0
#define BH_APART 0
#include BH_INSTANCE_FILE

#define BH_KEY_BYTES 8
#define BH_VALUE_BYTES 4
#define BH_APART 0
#include BH_INSTANCE_FILE

#define BH_KEY_BYTES 8
#define BH_VALUE_BYTES 8
#define BH_APART 0
#include BH_INSTANCE_FILE

#define BH_KEY_BYTES 4
#define BH_VALUE_BYTES 4
#define BH_APART 1
#include BH_INSTANCE_FILE

#define BH_KEY_BYTES 4
#define BH_VALUE_BYTES 8
#define BH_APART 1
#include BH_INSTANCE_FILE

#define BH_KEY_BYTES 8
#define BH_VALUE_BYTES 4
#define BH_APART 1
#include BH_INSTANCE_FILE

#define BH_KEY_BYTES 8
#define BH_VALUE_BYTES 8
#define BH_APART 1
#include BH_INSTANCE_FILE

#undef BH_INSTANCE_FILE
