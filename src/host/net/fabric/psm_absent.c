/*
 * psm_absent.c - libpsm2.so.2, or with PSM1 libpsm_infinipath.so.1, of a host without their networks: each call fails.
 *
 * Each is compiled to a shared object that stands as bytes in libfulmar (ofi_absent.c). 3 is PSM_INIT_NOT_INIT and PSM2_INIT_NOT_INIT.
 */
enum { NOT_INIT = 3 };

#define FAILS(name)                                                                                                  \
    long name(void);                                                                                                 \
    long name(void)                                                                                                  \
    {                                                                                                                \
        return NOT_INIT;                                                                                             \
    }

/* Functions of both, without their prefix. */
#define BOTH(F)                                                                                                      \
    F(am_get_parameters) F(am_register_handlers) F(am_reply_short) F(am_request_short) F(am_unregister_handlers)     \
    F(ep_close) F(ep_connect) F(ep_disconnect) F(ep_epid_lookup) F(ep_epid_share_memory) F(ep_num_devunits)          \
    F(ep_open) F(ep_open_opts_get_defaults) F(ep_query) F(epaddr_getctxt) F(epaddr_setctxt) F(epaddr_setlabel)       \
    F(epid_context) F(epid_nid) F(epid_port) F(error_defer) F(error_register_handler) F(finalize) F(getopt) F(init)  \
    F(map_nid_hostname) F(mq_cancel) F(mq_finalize) F(mq_get_stats) F(mq_getopt) F(mq_init) F(mq_ipeek) F(mq_iprobe) \
    F(mq_irecv) F(mq_isend) F(mq_send) F(mq_setopt) F(mq_test) F(mq_wait) F(poll) F(setopt) F(uuid_generate)

#define ONLY_2(F)                                                                                                    \
    F(am_get_source) F(am_register_handlers_2) F(ep_disconnect2) F(ep_epid_lookup2) F(epaddr_to_epid) F(info_query)  \
    F(mq_fp_msg) F(mq_improbe) F(mq_improbe2) F(mq_imrecv) F(mq_ipeek2) F(mq_ipeek_dequeue)                          \
    F(mq_ipeek_dequeue_multi) F(mq_iprobe2) F(mq_irecv2) F(mq_isend2) F(mq_req_free) F(mq_send2) F(mq_test2) F(mq_wait2)

#ifdef PSM1
#define PREFIXED(name) FAILS(psm_##name)
#define error_string psm_error_get_string
#else
#define PREFIXED(name) FAILS(psm2_##name)
#define error_string psm2_error_get_string
ONLY_2(PREFIXED)

unsigned long psm2_get_capability_mask(unsigned long wanted);
unsigned long psm2_get_capability_mask(unsigned long wanted)
{
    return wanted & 0;
}
#endif

BOTH(PREFIXED)

const char *error_string(int error);
const char *error_string(int error)
{
    (void)error;
    return "there is no such network on this host";
}
