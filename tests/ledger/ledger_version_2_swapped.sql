BEGIN TRANSACTION;
CREATE TABLE agents (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	turns TEXT NOT NULL, 
	as_of BIGINT NOT NULL, 
	received DOUBLE NOT NULL, 
	received_lost DOUBLE NOT NULL, 
	remembered DOUBLE NOT NULL, 
	remembered_lost DOUBLE NOT NULL, 
	last BIGINT NOT NULL, 
	PRIMARY KEY (id), 
	CONSTRAINT agents_bounds CHECK (abs(received) <= 1e+300 AND abs(received_lost) <= 1e+300 AND abs(remembered) <= 1e+300 AND abs(remembered_lost) <= 1e+300), 
	UNIQUE (name)
);
INSERT INTO "agents" VALUES(1,'swapped','[[1767225600000000,"join"]]',1767312000000000,8.0,0.0,8.0,0.0,1767312000000000);
INSERT INTO "agents" VALUES(2,'void','[[1767225600000000,"join"]]',1767484800000000,2.0,0.0,1.97715996843424601792e+00,-1.11022302462515654042e-16,1767484800000000);
INSERT INTO "agents" VALUES(3,'decision','[[1767225600000000,"join"]]',1767398400000000,1.0,0.0,1.0,0.0,1767398400000000);
INSERT INTO "agents" VALUES(4,'"swapped":','[[1767225600000000,"join"]]',1767484800000000,4.0,0.0,3.97715996843424601792e+00,0.0,1767484800000000);
INSERT INTO "agents" VALUES(5,'12','[[1767225600000000,"join"]]',1767484800000000,1.0,0.0,1.0,0.0,1767484800000000);
CREATE TABLE draws (
	id INTEGER NOT NULL, 
	seed TEXT NOT NULL, 
	event BIGINT, 
	PRIMARY KEY (id)
);
INSERT INTO "draws" VALUES(1,'f5a820bb5df8aa1839c77db166cc3a6fb60e41e3266859a15877163d1c562565',16);
CREATE TABLE events (
	seq INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	time BIGINT NOT NULL, 
	recorded BIGINT NOT NULL, 
	agent INTEGER, 
	amount DOUBLE, 
	refers BIGINT, 
	note TEXT NOT NULL, 
	details TEXT, 
	hash BLOB NOT NULL, 
	author TEXT DEFAULT '' NOT NULL, 
	"key" TEXT, 
	PRIMARY KEY (seq), 
	CONSTRAINT events_bounds CHECK (abs(amount) <= CASE kind WHEN 'correction' THEN 2e+15 ELSE 1e+15 END), 
	FOREIGN KEY(agent) REFERENCES agents (id)
);
INSERT INTO "events" VALUES(1,'rules',1767225600000000,1772355600000000,NULL,NULL,NULL,'','{"draw":{"next":"662bff0c9466e351eaa844b6abdf4651a0c2ddc62716644fc89f8d1a2d511ccb"},"entitlements":{},"half_life":"30d","hold_stops_clock":true,"kind":"good","newcomers":"mean","reports":"as-reported","rule":"one-step","time_zone":"UTC","welfare":"egalitarian"}',X'6AB29C5F9CBA7C96780F5F6BCABCC9F68C6D1C4D5CB59304559BDEEED5141BA0','approver',NULL);
INSERT INTO "events" VALUES(2,'join',1767225600000000,1772355601000000,1,0.0,NULL,'',NULL,X'2F3F952CE016C2F5C5DDE354DB2F87C095B512B21597E95FF388EAE030020784','approver',NULL);
INSERT INTO "events" VALUES(3,'join',1767225600000000,1772355601000000,2,0.0,NULL,'',NULL,X'793E4A344BC2B3C65E27ED8696607E9EB2EAE877A16A013E5967C6341EE84D68','approver',NULL);
INSERT INTO "events" VALUES(4,'join',1767225600000000,1772355601000000,3,0.0,NULL,'',NULL,X'792903463D1C8980F723C4A3C785144F983B3314BF7EDA4AD30A4A6F71CEF832','approver',NULL);
INSERT INTO "events" VALUES(5,'join',1767225600000000,1772355601000000,4,0.0,NULL,'',NULL,X'13F221AC5E53F2456E3C199903FDF7D3D5B00D74A6294451EB96A6AC405A54B9','approver',NULL);
INSERT INTO "events" VALUES(6,'join',1767225600000000,1772355601000000,5,0.0,NULL,'',NULL,X'FF2DC79D638FA6BF48D12FA49AF539F49C065D6966B0CA6B8C83D5473EA231DF','approver',NULL);
INSERT INTO "events" VALUES(7,'received',1767312000000000,1772355602000000,1,8.0,NULL,'',NULL,X'061D1C76FA2B32C7E1C10D2B0135A00141FC58C7BA3D6F64BA000214CBD1D4D5','approver',NULL);
INSERT INTO "events" VALUES(8,'decision',1767398400000000,1772355603000000,NULL,NULL,NULL,'','{"at":"2026-01-03T00:00:00Z","draw":{"committed_in":1,"next":"f7577e7116aed0ca8e796d3063e2bc574691eb5fe904509e6762a36c7475b9df","seed":"ddb690da2153d71e8ca0feb00808be0bd472c3704ae612828585381fc6dbf708"},"gap":0.0,"gets":{"\"swapped\":":"a place worth 1","decision":"a place worth 1","void":"a place worth 1"},"half_life":"30d","method":1,"optimal":true,"reasons":["void gets a place worth 1; decision gets a place worth 1; \"swapped\": gets a place worth 1 (3 of 5 agents).","void: remembered 0 before (joint lowest of 5 agents) and 1 after; owed 1.563; nothing received before.","decision: remembered 0 before (joint lowest of 5 agents) and 1 after; owed 1.563; nothing received before.","\"swapped\":: remembered 0 before (joint lowest of 5 agents) and 1 after; owed 1.563; nothing received before.","The half-life is 30 days.","Welfare (egalitarian) goes from 0 to 0, the best possible.","The next best choice (12 instead of \"swapped\":) is equally good; a random draw decided."],"request":{"k":3,"needs":{"\"swapped\":":1.0,"12":1.0,"decision":1.0,"swapped":1.0,"void":1.0}},"utilities":{"\"swapped\":":1.0,"decision":1.0,"void":1.0},"welfare":"egalitarian"}',X'2C8C6B5C537264BFF36F596EE27B0EB71C9F72DD68DE4386CB4252ECA271F81C','approver',NULL);
INSERT INTO "events" VALUES(9,'received',1767398400000000,1772355603000000,2,1.0,8,'',NULL,X'21286ECCA27D6DB136987C77ECCBEF76D617564E5F4031EA8BDC27105E17FC46','approver',NULL);
INSERT INTO "events" VALUES(10,'received',1767398400000000,1772355603000000,3,1.0,8,'',NULL,X'137F5817A8777AD2B7554D88EE4EFF5D0058B03145958670470A8532ADD6944D','approver',NULL);
INSERT INTO "events" VALUES(11,'received',1767398400000000,1772355603000000,4,1.0,8,'',NULL,X'C10F94E84F99898001354D8085D41B10ED88452C42F8A0A8B38F8D8DCBFFAF64','approver',NULL);
INSERT INTO "events" VALUES(12,'decision',1767484800000000,1772355604000000,NULL,NULL,NULL,'','{"at":"2026-01-04T00:00:00Z","draw":{"committed_in":8,"next":"0d29b364aeab0d84ccd842544ae491a67a20dff943808757e37947ade12fac5d","seed":"d71e5534a74ccf96cdc59ea025acf7999d41e69853aa8198536c36065efdcfe5"},"gap":0.0,"gets":{"\"swapped\":":"a","12":"b and c","void":"replaces"},"half_life":"30d","method":1,"optimal":true,"reasons":["void gets replaces; \"swapped\": gets a; 12 gets b and c (3 of 5 agents).","void: remembered 0.9772 before (joint second lowest of 5 agents) and 1.977 after; owed 1.137; last received 2026-01-03 00:00 UTC.","\"swapped\":: remembered 0.9772 before (joint second lowest of 5 agents) and 3.977 after; owed 1.137; last received 2026-01-03 00:00 UTC.","12: remembered 0 before (lowest of 5 agents) and 1 after; owed 2.114; nothing received before.","The half-life is 30 days.","Welfare (egalitarian) goes from 0 to 0.97716, the best possible.","The next best choice (the same agents with other items) is equally good; a random draw decided."],"request":{"capacity":1,"items":["a","b and c","replaces"],"utilities":{"\"swapped\":":{"a":3.0,"b and c":2.0,"replaces":1.0},"12":{"b and c":1.0,"replaces":1.0},"swapped":{"a":1.0,"b and c":2.0,"replaces":3.0},"void":{"a":1.0,"b and c":1.0,"replaces":1.0}}},"utilities":{"\"swapped\":":3.0,"12":1.0,"void":1.0},"welfare":"egalitarian"}',X'B4DF5F29E6373BEAEABD5C6A656951E8A6F5E7F72AEF3E715E66B8A93FCB63BB','approver',NULL);
INSERT INTO "events" VALUES(13,'received',1767484800000000,1772355604000000,2,1.0,12,'',NULL,X'3E3398CA00D19B0F302938EA1D60DD51AD2F07584DDCC2F5CD0DBF06768025D2','approver',NULL);
INSERT INTO "events" VALUES(14,'received',1767484800000000,1772355604000000,4,3.0,12,'',NULL,X'6761D51D1282B23EFABB8E83CEBD5E8E05981B40C23329E9AEA05BAA352927A6','approver',NULL);
INSERT INTO "events" VALUES(15,'received',1767484800000000,1772355604000000,5,1.0,12,'',NULL,X'EFA64B93872963CE5E02296D49E0C2F836617E8E0E7F3774B7BFDB93A4D9E508','approver',NULL);
INSERT INTO "events" VALUES(16,'plan',1772409600000000,1772355605000000,NULL,NULL,NULL,'','{"all_day":true,"at":"2026-03-02T00:00:00Z","draw":{"committed_in":12,"next":"0e609ebc658fced2145a5cb945ef595218c0a3132ba29b9c429e0a462d5984e8","seed":"b90c52da096be27d2fb4064c48934d93dd82ac716c0eebafea9d1a45e0fe08cd"},"gap":0.0,"gets":{"decision":"a place worth 1"},"half_life":"30d","method":1,"optimal":true,"reasons":["decision gets a place worth 1 (1 of 5 agents).","decision: remembered 0.2618 before (lowest of 5 agents) and 1.262 after; owed 0.5726; last received 2026-01-03 00:00 UTC.","The half-life is 30 days.","Welfare (egalitarian) goes from 0.261824 to 0.267943, the best possible.","The next best choice (12 instead of decision) would lower welfare by 0.00612."],"request":{"k":1,"needs":{"\"swapped\":":1.0,"12":1.0,"decision":1.0,"swapped":1.0,"void":1.0}},"utilities":{"decision":1.0},"welfare":"egalitarian"}',X'4898FD8744F293454A757D2BAB17D3BFF0A54BC909C2A012358F17F513075E4B','approver',NULL);
INSERT INTO "events" VALUES(17,'planned',1772409600000000,1772355605000000,3,1.0,16,'','{"what":"a place worth 1"}',X'3A0DA81812CAEBB31126E52FDC2A8A45F5F3F6D903D1515B37383EF92EC0D643','approver',NULL);
INSERT INTO "events" VALUES(18,'plan',1772496000000000,1772355605000000,NULL,NULL,NULL,'','{"all_day":true,"at":"2026-03-03T00:00:00Z","gap":0.0,"gets":{"12":"a place worth 1"},"half_life":"30d","method":1,"optimal":true,"reasons":["12 gets a place worth 1 (1 of 5 agents).","12: remembered 0.2618 before (lowest of 5 agents) and 1.262 after; owed 0.7489; last received 2026-01-04 00:00 UTC.","The half-life is 30 days.","Welfare (egalitarian) goes from 0.261824 to 0.517667, the best possible.","The next best choice (void instead of 12) would lower welfare by 0.2558."],"request":{"k":1,"needs":{"\"swapped\":":1.0,"12":1.0,"decision":1.0,"swapped":1.0,"void":1.0}},"utilities":{"12":1.0},"welfare":"egalitarian"}',X'474862A6F2418A4A21192F23078BAD500B09EA881EEE58368D607257BB056F13','approver',NULL);
INSERT INTO "events" VALUES(19,'planned',1772496000000000,1772355605000000,5,1.0,18,'','{"what":"a place worth 1"}',X'EA0615517D8353710BE3C3932B55B9178A6324178E63F8E347A0DE78419E3CE4','approver',NULL);
INSERT INTO "events" VALUES(20,'plan',1772582400000000,1772355605000000,NULL,NULL,NULL,'','{"all_day":true,"at":"2026-03-04T00:00:00Z","gap":0.0,"gets":{"void":"a place worth 1"},"half_life":"30d","method":1,"optimal":true,"reasons":["void gets a place worth 1 (1 of 5 agents).","void: remembered 0.5058 before (lowest of 5 agents) and 1.506 after; owed 0.6773; last received 2026-01-04 00:00 UTC.","The half-life is 30 days.","Welfare (egalitarian) goes from 0.505843 to 1.01753, the best possible.","The next best choice (\"swapped\": instead of void) would lower welfare by 0.5117."],"request":{"k":1,"needs":{"\"swapped\":":1.0,"12":1.0,"decision":1.0,"swapped":1.0,"void":1.0}},"utilities":{"void":1.0},"welfare":"egalitarian"}',X'8E39D3C10614A8EBC072817DF77A2505B9526A16688F0154CB083B3827415567','approver',NULL);
INSERT INTO "events" VALUES(21,'planned',1772582400000000,1772355605000000,2,1.0,20,'','{"what":"a place worth 1"}',X'030FC5B7A114955D596F660336B13C972DE0EF246997EF973D618F91CB983D33','approver',NULL);
INSERT INTO "events" VALUES(22,'plan',1772668800000000,1772355605000000,NULL,NULL,NULL,'','{"all_day":true,"at":"2026-03-05T00:00:00Z","gap":0.0,"gets":{"\"swapped\":":"a place worth 1"},"half_life":"30d","method":1,"optimal":true,"reasons":["\"swapped\": gets a place worth 1 (1 of 5 agents).","\"swapped\":: remembered 0.9943 before (lowest of 5 agents) and 1.994 after; owed 0.3572; last received 2026-01-04 00:00 UTC.","The half-life is 30 days.","Welfare (egalitarian) goes from 0.99429 to 1.17732, the best possible.","The next best choice (decision instead of \"swapped\":) would lower welfare by 0.183."],"request":{"k":1,"needs":{"\"swapped\":":1.0,"12":1.0,"decision":1.0,"swapped":1.0,"void":1.0}},"utilities":{"\"swapped\":":1.0},"welfare":"egalitarian"}',X'B5BC1D35D2DE22D93FF889620882FDE26769204A7245EDB656B669E71A3C294C','approver',NULL);
INSERT INTO "events" VALUES(23,'planned',1772668800000000,1772355605000000,4,1.0,22,'','{"what":"a place worth 1"}',X'42F09015A57920B2B7C4800A9637624E553D4055C9169A7D5FD2EFB3C9D693A3','approver',NULL);
INSERT INTO "events" VALUES(24,'void',1772409600000000,1772355607000000,3,NULL,17,'',NULL,X'F6E2574CC69DF34C4B7D603E56FF55157A0AE1012013B87F9A88CFC5F4B17694','approver',NULL);
INSERT INTO "events" VALUES(25,'void',1772496000000000,1772355607000000,5,NULL,19,'',NULL,X'34271BB63D2E0FEA641E32C456F0D4973FCA37FA47800391839001E12C13A198','approver',NULL);
INSERT INTO "events" VALUES(26,'planned',1772409600000000,1772355607000000,5,1.0,16,'swapped, was event 17','{"swapped":[17,19],"what":"a place worth 1"}',X'7DEBC6AAC797AAEA8527BFCD71FA346E0497652ACD757A70F67323B725556D10','approver',NULL);
INSERT INTO "events" VALUES(27,'planned',1772496000000000,1772355607000000,3,1.0,18,'swapped, was event 19','{"swapped":[17,19],"what":"a place worth 1"}',X'00176AF69A004DFCC594FE4A0E542BB707BD747D3EBFED49C9B2413461428C30','approver',NULL);
CREATE TABLE ledger (
	id INTEGER NOT NULL, 
	head BIGINT NOT NULL, 
	head_hash BLOB NOT NULL, 
	settled BIGINT NOT NULL, 
	rules TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "ledger" VALUES(1,27,X'00176AF69A004DFCC594FE4A0E542BB707BD747D3EBFED49C9B2413461428C30',1772355607000000,'[[1767225600000000,1,{"entitlements":{},"half_life":"30d","hold_stops_clock":true,"kind":"good","newcomers":"mean","reports":"as-reported","rule":"one-step","time_zone":"UTC","welfare":"egalitarian"}]]');
CREATE TABLE schema_version (
	version INTEGER NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "schema_version" VALUES(2);
CREATE TABLE voids (
	event BIGINT NOT NULL, 
	since BIGINT NOT NULL, 
	until BIGINT, 
	PRIMARY KEY (event, since)
);
INSERT INTO "voids" VALUES(17,24,NULL);
INSERT INTO "voids" VALUES(19,25,NULL);
CREATE UNIQUE INDEX events_by_key ON events ("key") WHERE key IS NOT NULL;
CREATE INDEX events_of_agent ON events (agent, time);
CREATE INDEX events_by_time ON events (time, seq);
CREATE INDEX events_referring ON events (refers) WHERE refers IS NOT NULL;
COMMIT;
