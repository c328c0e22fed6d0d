/* One design in a unit's choice of kernels. */
if (options->design == BH_DESIGN_NUMBER)
    return BH_OF_DESIGN(BH_UNIT_NAME(unit))(options);
