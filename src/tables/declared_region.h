/* One pair of widths of a declaration (declared.h): checks the length of its regions. */
#if (BH_DESIGN_REGION) != 16 && (BH_DESIGN_REGION) != 32 && (BH_DESIGN_REGION) != 64 &&            \
    (BH_DESIGN_REGION) != 128
#error "BH_DESIGN_REGION is to be 16, 32, 64 or 128"
#endif

#undef BH_KEY_BYTES
#undef BH_VALUE_BYTES
#undef BH_APART
