#include "wt_bounds.h"

#include "wt_module.h"

#define TABLE_ELEMENT_BYTES 8
#define TABLE_ROOM 65536 /* for a table that names no maximum */

/* Tables are charged in full before the guest starts: the engine tells nobody when
 * one grows, so what they may become is set aside. */
enum nacre_status wt_bounds_make(const struct nacre_plan *plan,
                                 const struct nacre_tool *tool,
                                 struct wt_bounds *ret_bounds, struct nacre_error *err)
{
    struct wt_module_tables tables;
    enum nacre_status status = wt_module_tables(tool, &tables, err);
    uint64_t each, all;

    if (status != NACRE_OK)
        return status;
    each = all = tables.elements_max;
    if (tables.elements_max > plan->limits.memory_bytes_max / (4 * TABLE_ELEMENT_BYTES)) {
        each = tables.elements_min + TABLE_ROOM;
        all = each * tables.tables;
    }
    *ret_bounds = (struct wt_bounds){
        .memory_bytes_max = plan->limits.memory_bytes_max,
        .table_bytes = all * TABLE_ELEMENT_BYTES,
        .table_elements_max = each,
        .table_count = tables.tables,
    };
    return NACRE_OK;
}
