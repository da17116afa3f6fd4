// SPDX-License-Identifier: GPL-2.0-only
/* Communication domains, attaching, registration, and what can be asked. */
#include "fake_driver.h"

static void test_attach(void **state)
{
	gni_cdm_handle_t cdm, other;
	gni_nic_handle_t nic[3];
	u32 pe;

	(void)state;
	fake.devices = 3;
	fake.attach_answer = 0;
	ok(GNI_CdmCreate(0x80000001, 5, 0xdeadbeef, 0xffffffff, &cdm));
	ok(GNI_CdmAttach(cdm, 1, &pe, &nic[0]));
	assert_int_equal(pe, 8);
	assert_int_equal(fake.attach.inst_id, 0x80000001);
	assert_int_equal(fake.attach.ptag, 5);
	assert_int_equal(fake.attach.cookie, 0xdeadbeef);
	assert_int_equal(fake.attach.modes, 0xffffffff);
	assert_int_equal(GNI_CdmAttach(cdm, 1, &pe, &nic[1]), GNI_RC_INVALID_STATE);
	assert_int_equal(GNI_CdmAttach(cdm, 3, &pe, &nic[1]), GNI_RC_NO_MATCH);
	assert_int_equal(GNI_CdmAttach(cdm, 64, &pe, &nic[1]), GNI_RC_NO_MATCH);
	ok(GNI_CdmAttach(cdm, (u32)-1, &pe, &nic[1]));
	assert_int_equal(pe, 7);
	ok(GNI_CdmAttach(cdm, (u32)-1, &pe, &nic[2]));
	assert_int_equal(pe, 9);
	assert_int_equal(GNI_CdmAttach(cdm, (u32)-1, &pe, &nic[1]), GNI_RC_INVALID_STATE);
	ok(GNI_CdmCreate(1, 5, 2, 0, &other));
	ok(GNI_CdmAttach(other, 1, &pe, &nic[1]));
	assert_int_equal(fake.open_files, 4);
	ok(GNI_CdmDestroy(cdm));
	assert_int_equal(fake.open_files, 1);
	assert_int_equal(GNI_CdmDestroy(cdm), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_CdmAttach(cdm, 0, &pe, &nic[0]), GNI_RC_INVALID_PARAM);
	ok(GNI_CdmDestroy(other));
	assert_int_equal(fake.open_files, 0);
	fake.devices = 1;
}

/* A refusal leaves no file open, and the device free for another try. */
static void test_refused(void **state)
{
	const gni_return_t answers[] = {
		GNI_RC_PERMISSION_ERROR, GNI_RC_ERROR_RESOURCE, GNI_RC_INVALID_PARAM,
	};
	gni_cdm_handle_t cdm;
	gni_nic_handle_t nic = (void *)1;
	u32 pe = 4711, i;

	(void)state;
	ok(GNI_CdmCreate(1, 5, 2, 0, &cdm));
	for (i = 0; i < ARRAY_SIZE(answers); i++) {
		fake.attach_answer = answers[i];
		assert_int_equal(GNI_CdmAttach(cdm, 0, &pe, &nic), answers[i]);
		assert_int_equal(GNI_CdmAttach(cdm, (u32)-1, &pe, &nic), answers[i]);
	}
	fake.attach_answer = 0;
	fake.abi = KGNI_ABI_VERSION + 1;
	assert_int_equal(GNI_CdmAttach(cdm, 0, &pe, &nic), GNI_RC_NO_MATCH);
	fake.abi = KGNI_ABI_VERSION;
	assert_int_equal(GNI_CdmAttach(cdm, 0, NULL, &nic), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_CdmAttach(cdm, 0, &pe, NULL), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_CdmAttach(NULL, 0, &pe, &nic), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_CdmCreate(1, 5, 2, 0, NULL), GNI_RC_INVALID_PARAM);
	assert_int_equal(fake.open_files, 0);
	assert_int_equal(pe, 4711);
	assert_ptr_equal(nic, (void *)1);
	ok(GNI_CdmAttach(cdm, 0, &pe, &nic));
	ok(GNI_CdmDestroy(cdm));
}

/* Everything of a domain goes with it, and nothing of another. */
static void test_destroy(void **state)
{
	struct fake_side a, b;
	gni_cq_entry_t e;

	(void)state;
	fake_side(&a, 0, 4);
	fake_side(&b, 0, 4);
	fake_side_end(&a);
	assert_int_equal(GNI_EpDestroy(a.ep), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_CqDestroy(a.cq), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_EpCreate(a.nic, NULL, &a.ep), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_CqGetEvent(a.cq, &e), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_CqGetEvent(b.cq, &e), GNI_RC_NOT_DONE);
	assert_int_equal(GNI_CqDestroy(b.cq), GNI_RC_ERROR_RESOURCE);
	ok(GNI_EpDestroy(b.ep));
	ok(GNI_CqDestroy(b.cq));
	fake_side_end(&b);
}

static void test_memory(void **state)
{
	gni_mem_handle_t h = { 1, 2 };
	struct fake_side a, b;

	(void)state;
	fake_side(&a, 0, 4);
	fake_side(&b, 0, 4);
	ok(GNI_MemRegister(a.nic, 0x1000, 8, a.cq, 0, (u32)-1, &h));
	assert_int_equal(h.qword1, (u64)a.cq->id << 52 | 1);
	assert_int_equal(h.qword2, 0x1000);
	ok(GNI_MemRegister(a.nic, 0x2000, 8, NULL, 0, (u32)-1, &h));
	assert_int_equal(h.qword1, 0);
	assert_int_equal(GNI_MemRegister(a.nic, 0x3000, 8, b.cq, 0, (u32)-1, &h),
			 GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_MemRegister(a.nic, 0x3000, 8, (void *)a.ep, 0, (u32)-1, &h),
			 GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_MemRegister(NULL, 0x3000, 8, NULL, 0, (u32)-1, &h),
			 GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_MemRegister(a.nic, 0x3000, 8, NULL, 0, (u32)-1, NULL),
			 GNI_RC_INVALID_PARAM);
	assert_int_equal(h.qword2, 0x2000);
	ok(GNI_MemDeregister(a.nic, &h));
	assert_int_equal(GNI_MemDeregister(a.nic, NULL), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_MemDeregister(NULL, &h), GNI_RC_INVALID_PARAM);
	fake_side_end(&a);
	fake_side_end(&b);
}

/* Before any device was asked: this test comes first. */
static void test_no_device(void **state)
{
	gni_version_info_t v;
	gni_nic_device_t type;
	u32 pe, cpu, version;
	u8 ptag;
	int n;

	(void)state;
	fake.devices = 0;
	assert_int_equal(GNI_GetNumLocalDevices(&n), GNI_RC_ERROR_RESOURCE);
	assert_int_equal(GNI_GetLocalDeviceIds(1, &n), GNI_RC_ERROR_RESOURCE);
	assert_int_equal(GNI_GetDeviceType(&type), GNI_RC_ERROR_RESOURCE);
	assert_int_equal(GNI_CdmGetNicAddress(0, &pe, &cpu), GNI_RC_NO_MATCH);
	assert_int_equal(GNI_GetPtag(0, 1, &ptag), GNI_RC_NO_MATCH);
	ok(GNI_GetVersion(&version));
	assert_int_equal(version, 0x5c0000);
	memset(&v, 0xff, sizeof(v));
	ok(GNI_GetVersionInformation(&v));
	assert_int_equal(v.ugni_version, 0x5c0000);
	assert_int_equal(v.kgni_version, 0);
	assert_string_equal(v.kgni_build_string, "");
	fake.devices = 1;
}

static void test_info(void **state)
{
	gni_dev_res_desc_t dev;
	gni_job_res_desc_t job;
	gni_version_info_t v;
	gni_nic_device_t type;
	int ids[4] = { -1, -1, -1, -1 }, n;
	u32 pe, cpu;
	u8 ptag;

	(void)state;
	fake.devices = 3;
	ok(GNI_GetNumLocalDevices(&n));
	assert_int_equal(n, 3);
	ok(GNI_GetLocalDeviceIds(2, ids));
	assert_int_equal(ids[1], 1);
	assert_int_equal(ids[2], -1);
	ok(GNI_GetLocalDeviceIds(4, ids));
	assert_int_equal(ids[2], 2);
	assert_int_equal(ids[3], -1);
	ok(GNI_GetDeviceType(&type));
	assert_int_equal(type, GNI_DEVICE_ARIES);
	ok(GNI_CdmGetNicAddress(2, &pe, &cpu));
	assert_int_equal(pe, 9);
	assert_int_equal(cpu, 3);
	ok(GNI_GetVersionInformation(&v));
	assert_int_equal(v.kgni_version, 0x5c0000);
	assert_int_equal(v.kgni_svn_revision, 42);
	assert_int_equal(strlen(v.kgni_build_string), MAX_BUILD_STRING_LENGTH - 1);
	ok(GNI_GetPtag(1, 1, &ptag));
	assert_int_equal(ptag, 77);
	ok(GNI_GetDevResInfo(0, GNI_DEV_RES_MDD, &dev));
	assert_int_equal(dev.available, 1);
	assert_int_equal(dev.reserved, 2);
	assert_int_equal(dev.held, 3);
	assert_int_equal(dev.total, 4);
	ok(GNI_GetJobResInfo(0, 7, GNI_JOB_RES_MDD, &job));
	assert_int_equal(job.used, 3);
	assert_int_equal(job.limit, 4);
	assert_int_equal(GNI_GetDevResInfo(0, GNI_DEV_RES_FIRST, &dev), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_GetDevResInfo(3, GNI_DEV_RES_MDD, &dev), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_GetJobResInfo(99, 1, GNI_JOB_RES_MDD, &job), GNI_RC_INVALID_PARAM);
	assert_int_equal(fake.open_files, 3);	/* the control files stay open */
	fake.devices = 1;
}

static void test_null(void **state)
{
	u32 word;
	int n;

	(void)state;
	assert_int_equal(GNI_GetNumLocalDevices(NULL), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_GetLocalDeviceIds(1, NULL), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_GetLocalDeviceIds(0, &n), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_GetLocalDeviceIds(-1, &n), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_GetDeviceType(NULL), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_GetVersion(NULL), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_GetVersionInformation(NULL), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_CdmGetNicAddress(0, NULL, &word), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_CdmGetNicAddress(0, &word, NULL), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_GetDevResInfo(0, 1, NULL), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_GetJobResInfo(0, 1, 1, NULL), GNI_RC_INVALID_PARAM);
	assert_int_equal(GNI_GetPtag(0, 1, NULL), GNI_RC_INVALID_PARAM);
}

static void test_timeouts(void **state)
{
	u64 left;

	(void)state;
	assert_int_equal(ugni_remaining(ugni_deadline(0)), 0);
	assert_true(ugni_remaining(ugni_deadline(KGNI_WAIT_FOREVER)) == KGNI_WAIT_FOREVER);
	assert_true(ugni_remaining(ugni_deadline(KGNI_WAIT_FOREVER - 1)) == KGNI_WAIT_FOREVER);
	assert_true(ugni_remaining(ugni_deadline(1ULL << 63)) == KGNI_WAIT_FOREVER);
	left = ugni_remaining(ugni_deadline(100000));
	assert_in_range(left, 90000, 100000);
	left = ugni_deadline(1);
	usleep(2000);
	assert_int_equal(ugni_remaining(left), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_device),
		cmocka_unit_test(test_attach),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_destroy),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_info),
		cmocka_unit_test(test_null),
		cmocka_unit_test(test_timeouts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
