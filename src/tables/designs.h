/* The policies of the designs that this version has. */
#ifndef BH_TABLES_DESIGNS_H
#define BH_TABLES_DESIGNS_H

#include "tables/table.h"

extern const bh__policy bh__dycuckoo_policy;
extern const bh__policy bh__hashfight_policy;

#endif
