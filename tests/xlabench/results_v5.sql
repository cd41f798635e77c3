PRAGMA user_version = 5;
BEGIN TRANSACTION;
CREATE TABLE bundles (
	id INTEGER NOT NULL, 
	case_id INTEGER NOT NULL, 
	engine VARCHAR NOT NULL, 
	path VARCHAR NOT NULL, 
	verified BOOLEAN NOT NULL, 
	message VARCHAR NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (case_id, path), 
	FOREIGN KEY(case_id) REFERENCES cases (id) ON DELETE CASCADE
);
INSERT INTO "bundles" VALUES(1,2,'cpu','bundles/run-1/two.cpu',1,'');
CREATE TABLE canaries (
	id INTEGER NOT NULL, 
	case_id INTEGER NOT NULL, 
	canary VARCHAR NOT NULL, 
	process INTEGER NOT NULL, 
	calls INTEGER NOT NULL, 
	samples JSON NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (case_id, canary, process), 
	FOREIGN KEY(case_id) REFERENCES cases (id) ON DELETE CASCADE
);
INSERT INTO "canaries" VALUES(1,1,'compute',0,200,'[2e-05, 2.1e-05]');
INSERT INTO "canaries" VALUES(2,1,'memory',0,4,'[0.001, 0.0012]');
INSERT INTO "canaries" VALUES(3,1,'threads',0,5,'[0.0008, 0.0009]');
CREATE TABLE cases (
	id INTEGER NOT NULL, 
	run_id INTEGER NOT NULL, 
	name VARCHAR NOT NULL, 
	digest VARCHAR NOT NULL, 
	started_at VARCHAR NOT NULL, 
	finished_at VARCHAR, 
	PRIMARY KEY (id), 
	UNIQUE (run_id, name), 
	FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE
);
INSERT INTO "cases" VALUES(1,1,'one','aa','2026-11-20T23:14:02.739+00:00','2026-11-20T23:14:02.745+00:00');
INSERT INTO "cases" VALUES(2,1,'two','bb','2026-11-20T23:14:02.746+00:00','2026-11-20T23:14:02.748+00:00');
CREATE TABLE decisions (
	id INTEGER NOT NULL, 
	case_id INTEGER NOT NULL, 
	engine VARCHAR NOT NULL, 
	digest VARCHAR NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (case_id, engine), 
	FOREIGN KEY(case_id) REFERENCES cases (id) ON DELETE CASCADE
);
INSERT INTO "decisions" VALUES(1,1,'cpu','0123456789abcdef');
CREATE TABLE kernels (
	id INTEGER NOT NULL, 
	case_id INTEGER NOT NULL, 
	engine VARCHAR NOT NULL, 
	name VARCHAR NOT NULL, 
	registers INTEGER NOT NULL, 
	shared_bytes INTEGER NOT NULL, 
	stack_bytes INTEGER NOT NULL, 
	spill_bytes INTEGER NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (case_id, engine, name), 
	FOREIGN KEY(case_id) REFERENCES cases (id) ON DELETE CASCADE
);
CREATE TABLE launches (
	id INTEGER NOT NULL, 
	case_id INTEGER NOT NULL, 
	engine VARCHAR NOT NULL, 
	name VARCHAR NOT NULL, 
	time_ns FLOAT NOT NULL, 
	least_ns FLOAT NOT NULL, 
	"limit" VARCHAR NOT NULL, 
	registers INTEGER NOT NULL, 
	occupancy FLOAT NOT NULL, 
	idle_lanes FLOAT NOT NULL, 
	sectors INTEGER NOT NULL, 
	least_sectors INTEGER NOT NULL, 
	shared_passes INTEGER NOT NULL, 
	least_shared_passes INTEGER NOT NULL, 
	atomics INTEGER NOT NULL, 
	atomic_passes INTEGER NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (case_id, engine, name), 
	FOREIGN KEY(case_id) REFERENCES cases (id) ON DELETE CASCADE
);
INSERT INTO "launches" VALUES(1,1,'nvptx:sim','main.1/add.3 1',2504.0,2500.0,'memory',16,1.0,0.0,512,512,0,0,0,0);
CREATE TABLE opened (
	id INTEGER NOT NULL, 
	case_id INTEGER NOT NULL, 
	program VARCHAR NOT NULL, 
	sizes VARCHAR NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (case_id, program), 
	FOREIGN KEY(case_id) REFERENCES cases (id) ON DELETE CASCADE
);
INSERT INTO "opened" VALUES(1,1,'one.pb','x [?,4] is [2, 4]');
CREATE TABLE runs (
	id INTEGER NOT NULL, 
	suite VARCHAR NOT NULL, 
	description VARCHAR NOT NULL, 
	reference VARCHAR NOT NULL, 
	engines JSON NOT NULL, 
	seed INTEGER NOT NULL, 
	options JSON NOT NULL, 
	environment JSON NOT NULL, 
	started_at VARCHAR NOT NULL, 
	finished_at VARCHAR, 
	PRIMARY KEY (id)
);
INSERT INTO "runs" VALUES(1,'frozen','two cases kept as they were written','reference','["cpu", "cpu:fusion=off"]',0,'{"timed": ["cpu:fusion=off", "cpu"], "input_seed": null, "timeout_s": 120.0, "processes": 1, "plan": {"rounds": 2, "min_rounds": 2, "batch_s": 0.004, "warmup_s": 0.3, "budget_s": 2.0}}','{"system": "Linux 6.1", "machine": "x86_64", "cpu": "Some Processor", "cpu_features": ["avx2", "fma"], "cores": 2, "usable_cores": 2, "memory_bytes": 8589934592, "governor": null, "load_1m": 0.1, "python": "CPython 3.11.7", "versions": {"numpy": "2.4.6"}, "commit": null}','2026-11-20T23:14:02.736+00:00','2026-11-20T23:14:02.749+00:00');
CREATE TABLE timings (
	id INTEGER NOT NULL, 
	case_id INTEGER NOT NULL, 
	engine VARCHAR NOT NULL, 
	process INTEGER NOT NULL, 
	calls INTEGER NOT NULL, 
	samples JSON NOT NULL, 
	doubts JSON NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (case_id, engine, process), 
	FOREIGN KEY(case_id) REFERENCES cases (id) ON DELETE CASCADE
);
INSERT INTO "timings" VALUES(1,1,'cpu:fusion=off',0,10,'[0.002, 0.0021]','[["few-rounds", "only 2 rounds fitted into the time budget"]]');
INSERT INTO "timings" VALUES(2,1,'cpu',0,20,'[0.001, 0.0011]','[]');
CREATE TABLE verdicts (
	id INTEGER NOT NULL, 
	case_id INTEGER NOT NULL, 
	engine VARCHAR NOT NULL, 
	verdict VARCHAR NOT NULL, 
	message VARCHAR NOT NULL, 
	stage VARCHAR NOT NULL, 
	reduced VARCHAR NOT NULL, 
	elements INTEGER, 
	mismatches INTEGER, 
	max_ulp FLOAT, 
	max_abs FLOAT, 
	max_rel FLOAT, 
	compile_s FLOAT, 
	run_s FLOAT, 
	PRIMARY KEY (id), 
	UNIQUE (case_id, engine, stage, reduced), 
	FOREIGN KEY(case_id) REFERENCES cases (id) ON DELETE CASCADE
);
INSERT INTO "verdicts" VALUES(1,1,'cpu','within','all results are within tolerance','','',4,0,2.0,1.0e-07,1.0e-07,0.1,0.001);
INSERT INTO "verdicts" VALUES(2,1,'cpu:fusion=off','bitwise','all results are equal to the bit','','',4,0,0.0,0.0,0.0,0.1,0.001);
INSERT INTO "verdicts" VALUES(3,2,'cpu','crash','the process was killed by SIGSEGV','run','',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE INDEX ix_cases_run_id ON cases (run_id);
CREATE INDEX ix_verdicts_case_id ON verdicts (case_id);
CREATE INDEX ix_timings_case_id ON timings (case_id);
CREATE INDEX ix_bundles_case_id ON bundles (case_id);
CREATE INDEX ix_canaries_case_id ON canaries (case_id);
CREATE INDEX ix_kernels_case_id ON kernels (case_id);
CREATE INDEX ix_launches_case_id ON launches (case_id);
CREATE INDEX ix_opened_case_id ON opened (case_id);
CREATE INDEX ix_decisions_case_id ON decisions (case_id);
COMMIT;
