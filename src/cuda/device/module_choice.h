/* One design in the module's choice of kernels. */
if (o->design == BH_DESIGN_NUMBER)
    k = BH_OF_DESIGN(scheduled)(o);
