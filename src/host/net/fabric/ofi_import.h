/* ofi_import.h - replace functions that libfabric imports; the rest of the process keeps its own. */
#ifndef SHI_OFI_IMPORT_H
#define SHI_OFI_IMPORT_H

/* Let libfabric and its providers, which are loaded, call `to` instead of the imported function `name`. How many places were
 * changed. Calls that other threads make meanwhile take either function. */
int shi_ofi_import(const char *name, void *to);

#endif
