/* bh_vec_multiply from products of 32 bits, for targets whose vectors have no wider ones. Such a target has, for this
 * alone, bh_vec_halves(low, high): the lower halves of low's words and the upper halves of high's. */
#ifndef BH_TARGETS_VECTOR_MULTIPLY_H
#define BH_TARGETS_VECTOR_MULTIPLY_H

/* In halves: a = au al, b = bu bl.
 *
 *                    [   al * bl   ]
 *             [   al * bu   ]
 *             [   au * bl   ]
 *      [   au * bu   ]
 */
BH_FN bh_vec bh_vec_multiply(bh_vec a, bh_vec a_upper, bh_vec b, bh_vec *high)
{
    const bh_vec lower = bh_vec_all(0xffffffffu), b_upper = bh_vec_right(b, 32);
    const bh_vec first = bh_vec_multiply32(a, b);
    const bh_vec one = bh_vec_add(bh_vec_multiply32(a, b_upper), bh_vec_right(first, 32));
    const bh_vec two = bh_vec_add(bh_vec_multiply32(a_upper, b), bh_vec_and(one, lower));

    *high = bh_vec_add(bh_vec_add(bh_vec_multiply32(a_upper, b_upper), bh_vec_right(one, 32)),
                       bh_vec_right(two, 32));
    return bh_vec_halves(first, bh_vec_left(two, 32));
}

#endif
